"""Other toolkits: import of Hugging Face's Marian and of CTranslate2, export to CTranslate2."""
