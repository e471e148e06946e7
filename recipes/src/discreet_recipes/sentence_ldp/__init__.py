"""Du et al. (2023): sentence vectors and labels under local privacy."""
