#include <algorithm>
#include <array>

#include "engine/families/family.hpp"

namespace attn {
namespace {

constexpr std::array<const Family*, 24> kFamilies = {
    &kGpt2Family,  &kGptNeoFamily, &kGptNeoxFamily, &kLlamaFamily,   &kMistralFamily,    &kQwen2Family,  &kQwen3Family, &kSmolLm3Family,
    &kOlmo2Family, &kGemmaFamily,  &kGemma2Family,  &kGemma3Family,  &kPhiFamily,        &kOldPhiFamily, &kPhi3Family,  &kOptFamily,
    &kBloomFamily, &kFalconFamily, &kBertFamily,    &kRobertaFamily, &kDistilBertFamily, &kT5Family,     &kBartFamily,  &kOwnFamily};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
    for (const Family* family : kFamilies)
        if (std::find(family->model_types.begin(), family->model_types.end(), model_type) != family->model_types.end()) return family;
    return nullptr;
}

}  // namespace attn
