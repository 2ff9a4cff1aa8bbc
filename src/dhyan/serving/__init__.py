"""HTTP translation server: bounded fair queue, batches, deadlines, API keys, a worker process."""
