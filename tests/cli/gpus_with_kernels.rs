//! `calibrate` on GPUs whose kernels run, on the processor, from the same sources.
