"""Other toolkits: import of Marian and CTranslate2; export to Hugging Face, CTranslate2, ONNX."""
