#include "engine/check/masks.hpp"

#include "engine/tensor/error.hpp"

namespace attn::check {

std::shared_ptr<const Mask> read_masks(const CaseFile& file, const std::string& attention_mask, const std::string& padding_mask,
                                       Mask::Target target) {
    Mask mask(target.queries, target.keys);
    const auto add = [&](const std::string& name, auto constructor) {
        if (name.empty() || !file.has(name)) return;
        try {
            std::vector<std::int64_t> sizes = file.sizes(name);
            // PyTorch's shape for a mask per head: [B H,T,S].
            if (sizes.size() == 3 && sizes[0] == target.batches * target.heads) sizes = {target.batches, target.heads, sizes[1], sizes[2]};
            mask = mask.combined_with(constructor(sizes, file.flags(name), target));
        } catch (const ShapeError& error) {
            file.fail(name, error.what());
        }
    };
    add(attention_mask, Mask::from_mha_bool);
    add(padding_mask, Mask::from_key_padding);
    return std::make_shared<const Mask>(std::move(mask));
}

}  // namespace attn::check
