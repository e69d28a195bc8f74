#pragma once
/// A private D-Bus daemon for a test; stopped at the end.

#include <sys/types.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace attn::test {

class PrivateBus {
public:
    PrivateBus();
    ~PrivateBus();
    PrivateBus(const PrivateBus&) = delete;
    PrivateBus& operator=(const PrivateBus&) = delete;

    const std::string& address() const { return address_; }

private:
    TemporaryFolder folder_;
    pid_t process_ = -1;
    std::string address_;
};

}  // namespace attn::test
