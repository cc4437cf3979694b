"""zipfile's side of `npm run test:interop`.

archives.py read FILE             the files of an archive as JSON
archives.py write FORM FILE PATH...   an archive: FORM is stored, deflated, zip64 or streamed
"""

import hashlib
import json
import os
import sys
import zipfile


def read(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [
            {"name": entry.filename, "size": entry.file_size, "sha256": hashlib.sha256(archive.read(entry)).hexdigest()}
            for entry in archive.infolist()
        ]


class Pipe:
    """A file that cannot seek, so that sizes and checksums stand behind the data."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def write(form, path, sources):
    method = zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED
    with open(path, "wb") as file:
        with zipfile.ZipFile(Pipe(file) if form == "streamed" else file, "w", method) as archive:
            for source in sources:
                with open(source, "rb") as content:
                    with archive.open(os.path.basename(source), "w", force_zip64=form == "zip64") as entry:
                        entry.write(content.read())


if sys.argv[1] == "read":
    print(json.dumps(read(sys.argv[2])))
else:
    write(sys.argv[2], sys.argv[3], sys.argv[4:])
