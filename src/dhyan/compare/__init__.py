"""Compare models: several recipes trained on the same data under one budget, and a report."""
