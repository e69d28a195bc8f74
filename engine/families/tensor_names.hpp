#pragma once
/// The tensors of a checkpoint by the names that their family has for them, without what wrappers of the model put into these.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/io/weight_files.hpp"

namespace attn {

/// Leaves out the parts that wrappers of PyTorch give a name, anywhere in it: "_orig_mod." (torch.compile), "module."
/// (DistributedDataParallel) and those of FSDP. Adds them to `found`, each once, if that is not null.
std::string without_wrappers(std::string_view name, std::vector<std::string>* found = nullptr);

class TensorNames {
public:
    TensorNames() = default;
    /// As they are in the file. `weights` must outlive this.
    TensorNames(const WeightFiles& weights, const Family& family);
    /// Leaves out a wrapper's parts, and one prefix before all the names, if that is how the file has the family's tensors. Throws
    /// FileError naming two prefixes with which it could be read equally well.
    void unwrap(const WeightFiles& weights, const std::vector<TensorSource>& sources, const std::string& file);

    /// The tensor with this name, with or without one of the family's prefixes; null if there is none.
    const WeightFiles::Tensor* find(std::string_view name) const;
    /// The name without wrappers and without the family's prefix.
    std::string bare(std::string_view tensor) const;
    /// The name that a tensor of the family would have in the file, apart from wrappers; `head`: it is part of the output head, before
    /// which the family has no prefix.
    std::string written(std::string_view tensor, bool head) const;
    /// What was left out: "_orig_mod.", "module.".
    const std::vector<std::string>& left_out() const { return left_out_; }

private:
    /// Whether the names without wrapping are all different; sets them if so.
    bool set(const WeightFiles& weights, bool wrapped, const std::string& prefix);
    std::string plain(std::string_view tensor) const;
    std::size_t missing(const std::vector<TensorSource>& sources) const;

    std::unordered_map<std::string, const WeightFiles::Tensor*> tensors_;
    std::span<const std::string_view> family_prefixes_;
    bool wrapped_ = false;  ///< without_wrappers() applies
    std::string prefix_;    ///< of the names without wrappers
    std::vector<std::string> left_out_;
};

}  // namespace attn
