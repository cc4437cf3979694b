"""Reads folders of Parquet files as analysts do. Arguments: one with trades, orders and positions; one with trades."""
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

folder, alone = (f"{path}/data" for path in sys.argv[1:])


def same(what, found, wanted):
    print("ok" if found == wanted else "NOT OK", what, found)
    if found != wanted:
        sys.exit(1)


def glob(table):
    return f"{folder}/table={table}/**/*.parquet"


def duck(query):
    return duckdb.sql(query).fetchall()[0][0]


# The texts of the same prices have "9" as their largest.
LARGEST = 10**30
same("DuckDB: max", int(duck(f"SELECT max(price) FROM read_parquet('{glob('trades')}')")), LARGEST)
same("Polars: max", int(pl.scan_parquet(glob("trades")).select(pl.col("price").max()).collect().item()), LARGEST)
whole = pl.scan_parquet(f"{folder}/table=trades")
same("Polars, a scan of the table's folder: max", int(whole.select(pl.col("price").max()).collect().item()), LARGEST)
hive = pl.scan_parquet(glob("trades"), hive_partitioning=True)
same("Polars, folders as columns", hive.select(pl.col("table").unique()).collect().to_series().to_list(), ["trades"])
same("Polars, folders as columns: sum", int(hive.select(pl.col("price").sum()).collect().item()), LARGEST + 9)
same("PyArrow: max", int(pc.max(ds.dataset(f"{folder}/table=trades", format="parquet").to_table()["price"]).as_py()), LARGEST)

# Anyone may send an order with this price.
ANY = str(2**256 - 1)
exact = f"SELECT arg_max(price_text, price) FROM read_parquet('{glob('orders')}')"
same("DuckDB, a price of 78 digits", duck(exact), ANY)
orders = pl.scan_parquet(glob("orders")).sort("price").select("price_text").last()
same("Polars, a price of 78 digits", orders.collect().item(), ANY)
same("DuckDB, a decimal", duck(f"SELECT max(loss) FROM read_parquet('{glob('positions')}')"), 10.5)
same("Polars, a decimal", pl.scan_parquet(glob("positions")).select(pl.col("loss").max()).collect().item(), 10.5)

# The folder of all tables. Polars takes the types of one table from the schema, and leaves out the files of others.
schema = pl.read_parquet_schema(glob("trades"))
root = pl.scan_parquet(folder, schema=schema, hive_partitioning=True).filter(pl.col("table") == "trades")
same("Polars, the folder of all tables: sum", int(root.select(pl.col("price").sum()).collect().item()), LARGEST + 9)
later = root.filter(pl.col("from") >= 2).select(pl.col("price").max()).collect().item()
files = duck(f"SELECT count(DISTINCT filename) FROM read_parquet('{glob('trades')}', filename = true)")
same("Polars, the folder of all tables, from a block on", later, LARGEST if files == 2 else None)
each = pl.scan_parquet(folder, hive_partitioning=True, missing_columns="insert", extra_columns="ignore")
rows = each.group_by("table").len().sort("table").collect().rows()
same("Polars, the folder of all tables: rows", rows, [("orders", 2), ("positions", 2), ("trades", 2)])
single = pl.scan_parquet(alone)
same("Polars, the folder of one table: sum", int(single.select(pl.col("price").sum()).collect().item()), LARGEST + 9)
hive = pl.scan_parquet(alone, hive_partitioning=True).select("table", "price").collect()
same("Polars, the folder of one table, folders as columns", hive.shape, (2, 2))
dataset = ds.dataset(folder, format="parquet", partitioning="hive")
same("PyArrow, the folder of all tables: rows", dataset.count_rows(filter=pc.field("table") == "orders"), 2)
types = ds.dataset(f"{folder}/table=trades", format="parquet").schema.append(pa.field("table", pa.string()))
trades = ds.dataset(folder, format="parquet", partitioning="hive", schema=types)
prices = trades.to_table(columns=["price"], filter=pc.field("table") == "trades")["price"]
same("PyArrow, the folder of all tables: sum", int(pc.sum(prices).as_py()), LARGEST + 9)
union = f"read_parquet('{folder}/**/*.parquet', union_by_name = true)"
same("DuckDB, the folder of all tables: rows", duck(f"SELECT count(*) FROM {union} WHERE \"table\" = 'orders'"), 2)
