"""Transport `mpi`: workers are the ranks of an MPI job, on one host or many, started by mpiexec or srun. This file imports
nothing, so that `world` can be imported where mpi4py is not installed."""
