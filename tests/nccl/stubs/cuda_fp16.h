/* nccl.h includes it and, read as C, needs nothing of it. */
