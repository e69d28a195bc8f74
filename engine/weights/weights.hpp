#pragma once
/// A model's parameters wherever they lie, found by the names that its plan gives them.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/tensor/matrix_view.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

class Weights {
public:
    /// Views of parameters that somebody else keeps.
    template <class Scalar>
    explicit Weights(const Parameters<Scalar>& parameters);
    /// Views of parameters that are kept as long as this.
    template <class Scalar>
    explicit Weights(std::shared_ptr<const Parameters<Scalar>> parameters);
    /// Views by name of memory that `owner` keeps: one for each parameter that the plan of the configuration names, [in,out] or one row.
    /// Throws ConfigError as validate() does, ShapeError naming the parameter that is missing or of another shape.
    Weights(const Config& config, std::map<std::string, MatrixView, std::less<>> views, std::shared_ptr<const void> owner);

    const Config& config() const { return config_; }
    /// Without data when the model has no such parameter.
    MatrixView find(std::string_view name) const;

private:
    Config config_;
    std::map<std::string, MatrixView, std::less<>> views_;
    std::shared_ptr<const void> owner_;
};

}  // namespace attn
