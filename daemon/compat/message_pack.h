// msgpack-cxx, without the parts of Boost that it would use.
#pragma once

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>
