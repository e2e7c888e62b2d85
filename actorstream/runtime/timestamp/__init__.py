"""What timestamp order needs in a worker: units that merge, replicas and sources that send in order (viper-scalegate)."""
