"""Other toolkits: import of Hugging Face's Transformers and of CTranslate2, export to CTranslate2."""
