#pragma once
/// Views of a model's parameters, wherever they are stored, by the names a plan uses.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/tensor/matrix_view.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

class Weights {
public:
    /// Views of parameters that must outlive this.
    template <class Scalar>
    explicit Weights(const Parameters<Scalar>& parameters);
    /// Views of parameters that are kept alive.
    template <class Scalar>
    explicit Weights(std::shared_ptr<const Parameters<Scalar>> parameters);
    /// Views, by name, of memory that `owner` keeps alive: one for each parameter named by the configuration's plan, [in,out] or a single
    /// row. Throws ConfigError like validate(), and ShapeError naming a parameter that is missing or has the wrong shape.
    Weights(const Config& config, std::map<std::string, MatrixView, std::less<>> views, std::shared_ptr<const void> owner);

    const Config& config() const { return config_; }
    /// Null data if the model has no such parameter.
    MatrixView find(std::string_view name) const;

private:
    Config config_;
    std::map<std::string, MatrixView, std::less<>> views_;
    std::shared_ptr<const void> owner_;
};

}  // namespace attn
