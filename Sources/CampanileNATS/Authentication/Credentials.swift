#if NKeys
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The contents of a file of credentials.
  struct Credentials {
    let token: Secret
    let key: NKey

    init(contentsOf path: String) throws(AuthenticationError) {
      guard let data = try? Data(contentsOf: URL(filePath: path)) else {
        throw AuthenticationError("The file of credentials \"\(path)\" can't be read.")
      }
      let lines = String(decoding: data, as: UTF8.self).split { $0.isNewline }
      func section(_ name: String) throws(AuthenticationError) -> Secret {
        guard let start = lines.firstIndex(where: { $0.contains("BEGIN \(name)") }),
          let line = lines[(start + 1)...].first, !line.hasPrefix("-")
        else {
          throw AuthenticationError("The file of credentials \"\(path)\" has no section \(name).")
        }
        return Secret(String(line.filter { !$0.isWhitespace }))
      }
      token = try section("NATS USER JWT")
      key = try NKey(seed: try section("USER NKEY SEED"))
    }
  }
#endif
