"""What is released: texts, vectors of sentences, vectors of documents."""
