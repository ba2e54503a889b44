"""Reviews a second inside DuckDB and Spark, beside Python's own predictions, and how far the probabilities differ."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import sqlglot
from pyspark.sql import SparkSession

from common import DATA, THREADS, imdb, seconds, versions, write
from regard import AttentionClassifier
from regard.export import export

ROUNDS = 3
NAMES = ("imdb_words", "imdb_characters")


def in_duckdb(folder, sql):
    con = duckdb.connect()
    con.execute(f"SET threads = {THREADS}")
    for name in (*NAMES, "reviews"):
        con.execute(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
    return lambda: pl.from_arrow(con.sql(sql).to_arrow_table())


def in_spark(folder, sql):
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(2 * THREADS),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for name in (*NAMES, "reviews"):
        session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)

    def run():
        session.sql(sql).drop("text").write.mode("overwrite").parquet(f"{folder}/out")
        return pl.read_parquet(f"{folder}/out/*.parquet")

    return run


def main():
    (texts, labels), (new, _) = imdb()
    model = AttentionClassifier(n_threads=THREADS).fit(texts, labels)
    model.predict(new[:100])  # warm kernels
    wanted = model.predict_proba(new)
    names = ["probability_0", "probability_1"]
    with tempfile.TemporaryDirectory() as folder:
        pl.DataFrame({"id": range(len(new)), "text": new}).write_parquet(f"{folder}/reviews.parquet")
        sql = {
            to: Path(export(model, to, folder, name="imdb", table="reviews").query).read_text()
            for to in ("duckdb", "spark", "bigquery")
        }
        sqlglot.parse_one(sql["bigquery"], read="bigquery")
        runs = {
            "regard, predict_proba": lambda: model.predict_proba(new),
            "DuckDB": in_duckdb(folder, sql["duckdb"]),
            "Spark, local mode": in_spark(folder, sql["spark"]),
        }
        times, gaps = {name: [] for name in runs}, {}
        for _ in range(ROUNDS):  # in turn, so that all meet the same weather
            for name, run in runs.items():
                time, found = seconds(run)
                times[name].append(time)
                if isinstance(found, pl.DataFrame):
                    found = found.sort("id").select(names).to_numpy()
                assert len(found) == len(new)
                gaps[name] = np.abs(found - wanted).max()
                print(name, round(time, 2), gaps[name], flush=True)
    fastest = min(times["regard, predict_proba"])
    lines = [
        f"IMDB, {len(new):,} reviews with a model of {len(model.model_):,} rows, {THREADS} threads; Python from a list",
        f"of texts, DuckDB and Spark from tables. The fastest of {ROUNDS} rounds in turn; the first of Spark also",
        "warms its virtual machine. BigQuery's text was parsed by sqlglot, not run.",
        "",
        "| | s | reviews a second | times slower than regard | largest difference of a probability |",
        "|---|---|---|---|---|",
    ]
    for name, all_times in times.items():
        s = min(all_times)
        lines.append(f"| {name} | {s:.2f} | {len(new) / s:,.0f} | {s / fastest:.1f} | {gaps[name]:.1e} |")
    spread = "; ".join(f"{name} {min(s):.1f}-{max(s):.1f}" for name, s in times.items())
    sizes = ", ".join(f"{name} {len(text) / 1000:.0f} kB" for name, text in sql.items())
    digest = hashlib.sha256((DATA / "imdb.parquet").read_bytes()).hexdigest()
    lines += [
        "",
        f"Seconds from the fastest to the slowest round: {spread}. Length of the query: {sizes}.",
        "",
        versions("regard", "numpy", "numba", "duckdb", "pyspark", "sqlglot")
        + f"; imdb.parquet (SHA-256) `{digest[:12]}`.",
    ]
    write("sql", "Scoring inside databases", "python benchmarks/sql.py", lines)


if __name__ == "__main__":
    sys.exit(main())
