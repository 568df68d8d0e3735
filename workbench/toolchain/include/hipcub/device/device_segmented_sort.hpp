// hipCUB's own name for a part; here all parts are one header.
#pragma once

#include "hipcub/hipcub.hpp"
