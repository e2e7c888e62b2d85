"""A run whose processes start on their own, by mpiexec, srun or one command on each host. No launcher watches them: one of
them, the home rank, hosts the coordinator beside its own worker."""
