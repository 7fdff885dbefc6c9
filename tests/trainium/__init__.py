"""A stand-in trn2 host, for tests only: a `torch_neuronx`, Neuron tools and a file tree over an ordinary CPU.

It checks our code paths, not Neuron: nothing that it yields may be read as a result of Trainium, and everything says "stand-in".
"""
