#if NATS
  import Foundation
  import Testing

  @testable import CampanileNATS

  @Suite("Who a client of NATS is")
  struct AuthenticationTests {
    private func json(_ authentication: Authentication, nonce: String? = "nonce") throws -> [String:
      String]
    {
      var options = ConnectOptions(name: "test")
      try options.authenticate(authentication, nonce: nonce)
      let object = try JSONSerialization.jsonObject(with: Data(options.json)) as? [String: Any]
      return (object ?? [:]).compactMapValues { $0 as? String }
    }

    @Test("A server is told what a client must be able to do for headers and answers")
    func abilities() throws {
      let object = try JSONSerialization.jsonObject(with: Data(ConnectOptions(name: "test").json))
      let options = try #require(object as? [String: Any])
      for field in ["headers", "no_responders"] { #expect(options[field] as? Bool == true) }
      #expect(options["verbose"] as? Bool == false)
      #expect(options["protocol"] as? Int == 1)
      #expect(options["name"] as? String == "test")
    }

    @Test("Names, passwords and tokens")
    func words() throws {
      #expect(try json(.user("me", password: Secret("pw")))["pass"] == "pw")
      #expect(try json(.token(Secret("tk")))["auth_token"] == "tk")
      #expect(try json(.none)["user"] == nil)
    }

    #if NKeys
      // Made with the Python package nkeys, of the bytes 0 to 31.
      private let seed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
      private let publicKey = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"

      @Test("A seed has the public key that another implementation gives it")
      func nkey() throws {
        let key = try NKey(seed: Secret(seed))
        #expect(key.publicKey == publicKey)
        let json = try json(.nkey(seed: Secret(seed)))
        #expect(json["nkey"] == publicKey)
        #expect(json["sig"]?.utf8.count == 86)
        #expect(!json.values.contains { $0.contains(seed) })
        // On Linux, signatures are the same each time.
        #if os(Linux)
          #expect(
            json["sig"]
              == "-HTq4d6DDHVNb8MsTRAZtSIa0vXA_yuZblwTA7JT5wYzmKBxJ2wpYfjHh7hcptZlidbVw_6ZLyubjm_yDk-OCQ"
          )
        #endif
      }

      @Test("Base 32 and its check sum")
      func base32() {
        for count in 0..<12 {
          let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 77 &+ 13) }
          #expect(Base32.decode(Base32.encode(bytes)) == bytes)
        }
        #expect(Base32.decode("a") == nil)
        #expect(Array("123456789".utf8).crc16 == 0x31C3)
        #expect([UInt8]("Ma~\u{7F}".utf8).base64URL == "TWF-fw")
      }

      @Test(
        "A seed that is none is refused, and not shown",
        arguments: [
          "", "SUAAAA", "suaaaaicamcakbqhbaeqcymbuha6earcijrifiwc4mbsgq3dqor4h776y",
          "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H777Y",
          "SAAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4HYMHI",
        ])
      func noSeed(text: String) {
        do throws(AuthenticationError) {
          _ = try NKey(seed: Secret(text))
          Issue.record("The seed was taken.")
        } catch {
          #expect(text.isEmpty || !error.description.contains(text))
        }
      }

      @Test("A file of credentials has a token and a seed")
      func credentials() throws {
        let path = FileManager.default.temporaryDirectory
          .appending(path: "c\(UInt32.random(in: 0 ... .max)).creds").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = """
          -----BEGIN NATS USER JWT-----
          abc.def
          ------END NATS USER JWT------

          ************************* IMPORTANT *************************
          -----BEGIN USER NKEY SEED-----
          \(seed)
          ------END USER NKEY SEED------
          """
        try text.replacing("\n", with: "\r\n").write(
          toFile: path, atomically: true, encoding: .utf8)
        let json = try json(.credentials(path: path))
        #expect(json["jwt"] == "abc.def")
        #expect(json["sig"] != nil)
        try "-----BEGIN NATS USER JWT-----\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: AuthenticationError.self) { try self.json(.credentials(path: path)) }
        #expect(throws: AuthenticationError.self) { try self.json(.credentials(path: path + "x")) }
      }

      @Test("A server that asks for no signature is told nothing")
      func noNonce() {
        #expect(throws: AuthenticationError.self) {
          try json(.nkey(seed: Secret(seed)), nonce: nil)
        }
      }
    #endif
  }
#endif
