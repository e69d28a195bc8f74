#include "engine/check/masks.hpp"

#include "engine/tensor/error.hpp"

namespace attn::check {

std::shared_ptr<const Mask> read_masks(const CaseFile& file, const std::string& attention_mask, const std::string& padding_mask,
                                       Mask::Target target) {
    Mask mask(target.queries, target.keys);
    const auto add = [&](const std::string& name, auto constructor) {
        if (name.empty() || !file.has(name)) return;
        try {
            mask = mask.combined_with(constructor(file.sizes(name), file.flags(name), target));
        } catch (const ShapeError& error) {
            file.fail(name, error.what());
        }
    };
    add(attention_mask, Mask::from_mha_bool);
    add(padding_mask, Mask::from_key_padding);
    return std::make_shared<const Mask>(std::move(mask));
}

}  // namespace attn::check
