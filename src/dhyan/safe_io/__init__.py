"""Reading files of unknown origin: regular files of bounded size, strict JSON, TOML and headers."""
