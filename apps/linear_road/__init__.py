"""Linear Road: variable tolls on expressways (the benchmark of viper-scalegate section 4)."""
