#include "app/cli/trained_example.hpp"

#include <fmt/format.h>

#include "app/session/document/presets.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

std::shared_ptr<const ShippedModel> trained_example(const std::string& name) {
    std::shared_ptr<const ShippedModel> model = find_preset(name).document.shipped;
    if (model == nullptr)
        throw Error("the example " + name + " has random weights; the trained examples are " +
                    fmt::format("{}", fmt::join(shipped_models(), ", ")));
    return model;
}

}  // namespace attn::app
