// hipCUB's header for one part; here all parts are in one header.
#pragma once

#include "hipcub/hipcub.hpp"
