"""A recipe becomes pairs, vocabularies and ids: read from files, made by code, or prepared."""
