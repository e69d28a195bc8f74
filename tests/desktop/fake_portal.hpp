#pragma once
/// A fake desktop portal whose behaviour tests define; it records requests.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace attn::test {

struct FakePortalWays {
    bool has_dialogs = true;
    bool answers_calls = true;        ///< otherwise it receives calls and stays silent
    bool refuses = false;             ///< calls return an error
    bool responds = true;             ///< otherwise the dialog stays open
    bool responds_first = false;      ///< the response is sent before the call returns
    bool vanishes = false;            ///< it leaves the bus while the dialog is open
    bool forged = false;              ///< someone else sends a response before the portal does
    std::uint32_t code = 0;           ///< 0 chosen, 1 cancelled, 2 ended in some other way
    std::vector<std::string> uris{};  ///< the chosen files
    std::string request{};            ///< path of the response, if not the one derived from the token
};

class FakePortal {
public:
    FakePortal(std::string address, FakePortalWays ways);
    ~FakePortal();
    FakePortal(const FakePortal&) = delete;
    FakePortal& operator=(const FakePortal&) = delete;

    struct Asked {
        std::string method, title;
        std::map<std::string, std::string> options;  ///< as text: "true", names, "Texts(*.txt *.md)"
    };
    /// The calls so far.
    std::vector<Asked> asked() const;
    /// The number of dialogs closed by their caller.
    int closed() const;

private:
    class Service;
    void note(Asked asked);
    void note_closed();

    FakePortalWays ways_;
    mutable std::mutex mutex_;
    std::vector<Asked> asked_;
    int closed_ = 0;
    std::jthread thread_;
};

}  // namespace attn::test
