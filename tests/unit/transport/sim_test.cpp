// The script of the simulated fabric.
#include "pairs.h"
