"""Models of texts: classifiers, pretraining on sanitised text, rewriters."""
