"""What is decided before a run: topology and deployment become a job. Nothing here takes part in the run itself."""
