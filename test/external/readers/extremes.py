"""Compares numbers with the texts from which they were loaded. Arguments: the texts, a DuckDB file, a Parquet folder, a URL."""
import json
import sys
from decimal import Decimal

import duckdb
import polars as pl
import psycopg

texts, file, folder, url = sys.argv[1:]
with open(texts, encoding="utf-8") as opened:
    wanted = json.load(opened)


def is_same(value, text, exact):
    """`repr` tells NaN from nothing and compares doubles by their shortest texts; the two zeros are equal in a column."""
    if exact:
        return value == int(text)
    return value == float(text) or repr(value) == repr(float(text))


def is_same_numeric(value, text, is_float):
    return is_same(value, text, False) if is_float else str(Decimal(value)) == str(Decimal(text))


def check(reader, table, name, values, same):
    wrong = [(value, text) for value, text in zip(values, table_texts[name], strict=True) if not same(value, text)]
    if wrong:
        print("NOT OK", reader, f"{table}.{name}", wrong[:3])
        sys.exit(1)
    return len(values)


engine = duckdb.connect(file, read_only=True)
server = psycopg.connect(url)
counts = {}
for each in wanted:
    table = each["table"]
    table_texts = {column["name"]: column["texts"] for column in each["columns"]}
    glob = f"{folder}/data/table={table}/**/*.parquet"
    frame = pl.read_parquet(glob, hive_partitioning=False).sort("vega_time")
    for column in each["columns"]:
        name, exact = column["name"], column["exact"]
        has_text = not exact and f"{name}_text" in frame.columns
        columns = [name, f"{name}_text"] if has_text else [name]
        readers = {
            "DuckDB": [list(values) for values in zip(*engine.sql(f"SELECT {', '.join(columns)} FROM {table} ORDER BY vega_time").fetchall())],
            "DuckDB, Parquet": [list(values) for values in zip(*duckdb.sql(f"SELECT {', '.join(columns)} FROM read_parquet('{glob}') ORDER BY vega_time").fetchall())],
            "Polars": [frame[each].to_list() for each in columns],
        }
        for reader, values in readers.items():
            found = check(reader, table, name, values[0], lambda value, text: is_same(value, text, exact))
            if has_text:
                found += check(reader, table, name, values[1], lambda value, text: value == text)
            counts[reader] = counts.get(reader, 0) + found
        rows = server.execute(f'SELECT "{name}" FROM {table} ORDER BY vega_time').fetchall()
        is_float = isinstance(rows[0][0], float)
        same = (lambda value, text: is_same(value, text, True)) if exact else (lambda value, text: is_same_numeric(value, text, is_float))
        counts["psycopg"] = counts.get("psycopg", 0) + check("psycopg", table, name, [value for value, in rows], same)
for reader, count in counts.items():
    print("ok", reader, count, "numbers and texts")
