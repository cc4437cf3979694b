"""Reads a folder of Parquet files as analysts do. Argument: the folder, with trades, orders and positions."""
import sys

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds

folder = sys.argv[1]


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
