#if Page
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The responses of a page, as bytes.
  enum PageResponse {
    /// The page itself.
    ///
    /// A nonce allows its style and its script.
    static func document() -> Data {
      let nonce = PageAccess.random()
      let page = String(decoding: PackageResources.page_html, as: UTF8.self)
      let body = page.split(separator: "NONCE").joined(separator: nonce)
      let policy = """
        default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; \
        connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """
      return head(
        .ok,
        [
          "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
          "Content-Security-Policy: \(policy)",
        ]) + Data(body.utf8)
    }

    /// The header of a stream of events.
    static var stream: Data { head(.ok, ["Content-Type: text/event-stream; charset=utf-8"]) }

    /// A status without a body.
    static func refusal(_ status: PageStatus) -> Data { head(status, ["Content-Length: 0"]) }

    private static func head(_ status: PageStatus, _ fields: [String]) -> Data {
      let common = [
        "Cache-Control: no-store", "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin",
        "Connection: close",
      ]
      let lines = ["HTTP/1.1 \(status.rawValue)"] + common + fields
      return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
  }
#endif
