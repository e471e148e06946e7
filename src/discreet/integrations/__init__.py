"""The release where people already work: thin adapters to other libraries, one module each."""
