"""urllib's side of `npm run test:interop`: gateway.py URL prints the answer's status, name and content as JSON."""

import hashlib
import io
import json
import sys
import urllib.error
import urllib.request
import zipfile

try:
    with urllib.request.urlopen(sys.argv[1], timeout=30) as response:
        content, status, header = response.read(), response.status, response.headers
except urllib.error.HTTPError as error:
    content, status, header = error.read(), error.code, error.headers
if header.get_content_type() == "application/zip":
    told = zipfile.ZipFile(io.BytesIO(content)).namelist()
else:
    told = json.loads(content)
name = header.get_filename()
print(json.dumps({"status": status, "name": name, "sha256": hashlib.sha256(content).hexdigest(), "told": told}))
