"""A Dask cluster on this machine, for the tests: prints its address and the processes of its workers.

The argument is the number of workers.  It ends with its input.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    )
    print(cluster.scheduler_address, *[worker.pid for worker in cluster.workers.values()], flush=True)
    sys.stdin.read()
    cluster.close()
