#pragma once
/// The result of recomputing a reference file: plain data, one entry per tensor.

#include <cstdint>
#include <string>
#include <vector>

namespace attn::check {

/// |error| <= absolute + relative |expected|
struct Tolerance {
    double absolute = 2e-5;
    double relative = 1e-4;
};

struct TensorResult {
    std::string name;                 ///< as in the file: "out.weights"
    std::vector<std::int64_t> shape;  ///< as in the file
    double max_abs = 0;               ///< largest |computed - expected|; +inf if exactly one of them is NaN
    double max_rel = 0;               ///< largest |computed - expected| / |expected| over cells whose expected value is not 0
    double max_excess = 0;            ///< largest error in units of its tolerance; > 1 fails
    std::int64_t worst_index = 0;     ///< flat index of the cell with max_excess
    /// How many numbers exceed the tolerance but could be explained by rounding (see RoundingReach); not included in the figures above.
    std::int64_t undetermined = 0;
    bool ok = true;
};

struct Report {
    std::string file;    ///< name for messages
    std::string module;  ///< "sdpa", "gpt2", "notebook"
    std::vector<TensorResult> tensors;

    bool ok() const {
        for (const TensorResult& tensor : tensors)
            if (!tensor.ok) return false;
        return !tensors.empty();
    }
};

}  // namespace attn::check
