// The families of checkpoints that can be converted: one function each, defined in the file of that name.
#pragma once

#include "convert/family.h"

namespace powerinfer::convert {

Blueprint describe_llama(const FamilyInput& input);
Blueprint describe_mistral(const FamilyInput& input);
Blueprint describe_bamboo(const FamilyInput& input);

}  // namespace powerinfer::convert
