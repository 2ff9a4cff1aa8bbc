"""Other toolkits: import of Transformers and CTranslate2; export to them and to ONNX."""
