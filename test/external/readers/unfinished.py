"""Reads a folder in which a change is unfinished. Argument: the folder. Each reader must fail: Polars names no file."""
import sys

import duckdb
import polars as pl
import pyarrow.dataset as ds

folder = f"{sys.argv[1]}/data"
READERS = {
    "DuckDB": lambda: duckdb.sql(f"SELECT count(*) FROM read_parquet('{folder}/**/*.parquet')").fetchall(),
    "Polars": lambda: pl.scan_parquet(folder).select(pl.len()).collect(),
    "Polars, a glob": lambda: pl.scan_parquet(f"{folder}/**/*.parquet").select("price").collect(),
    "PyArrow": lambda: ds.dataset(folder, format="parquet").count_rows(),
}
for name, read in READERS.items():
    try:
        print("NOT OK", name, read())
        sys.exit(1)
    except Exception as error:
        wanted = "magic bytes" if name.startswith("Polars") else "unfinished-change.parquet"
        print("ok" if wanted in str(error) else "NOT OK", name, str(error).splitlines()[0][:200])
        if wanted not in str(error):
            sys.exit(1)
