import CampanileRelay

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A stream of JetStream that stores the posts of a relay.
struct DurableOptions: Hashable, Sendable {
  var stream: String
  /// The subjects that the stream stores, if the relay creates it.
  var subjects: [String]
  var replicas: Int
  /// The name under which the server records which messages this receiver has acknowledged.
  var consumer: String?

  /// The name of the consumer that a group shares: the group, a hyphen, and a number for the pattern.
  static func consumer(of group: String, _ pattern: SubjectPattern) -> String {
    let name = SubjectName.escaped(group)
    let prefix = name.utf8.count <= 200 ? name : String(fnv1a(group), radix: 36)
    return "\(prefix)-\(String(fnv1a(pattern.text), radix: 36))"
  }

  /// The request that is made at a subject, without the name of the consumer, if it is one of a relay.
  func request(at subject: String) -> String? {
    ["STREAM.CREATE", "STREAM.INFO", "CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT"]
      .lazy.map { "$JS.API.\($0).\(stream)" }
      .first { subject == $0 || subject.hasPrefix($0 + ".") }
  }
}

/// A request to JetStream, and the address of the answer: a token after the relay's inbox.
struct StreamRequest: Equatable {
  var subject: String
  var token: String
  var json: [UInt8]

  init(_ subject: String, token: String, _ body: some Encodable) {
    self.subject = "$JS.API." + subject
    self.token = token
    // Texts, numbers and truths can be encoded.
    json = [UInt8](try! JSONEncoder().encode(body))
  }
}

struct StreamConfiguration: Encodable {
  var name: String
  var subjects: [String]
  var num_replicas: Int
  var retention = "limits"
  var storage = "file"
}

struct ConsumerRequest: Encodable {
  var stream_name: String
  var config: Configuration

  struct Configuration: Encodable {
    var name: String
    var durable_name: String?
    var deliver_policy = "new"
    var opt_start_seq: UInt64?
    var ack_policy = "none"
    /// In nanoseconds, as all times of JetStream.
    var ack_wait: Int?
    var max_deliver: Int?
    var mem_storage: Bool?
    var filter_subject: String?
    var filter_subjects: [String]?
  }
}

struct PullRequest: Encodable {
  var batch: Int
  var max_bytes: Int
  /// How long the server may take, in nanoseconds.
  var expires = 20_000_000_000
  /// The time after which it says that it has nothing to send.
  var idle_heartbeat = 5_000_000_000
}

/// The needed part of an answer of JetStream.
struct StreamResponse: Decodable {
  struct Failure: Decodable {
    var code: Int
    var err_code: Int?
    var description: String?

    var text: String { description ?? "error \(code)" }

    /// Whether a stream stores no such message, but stores others: those of other names, or
    /// smaller ones.
    var isAboutOneMessage: Bool {
      guard err_code == 10_077, let description else { return false }
      return description.contains("per subject") || description.hasSuffix("o large")
    }
  }

  struct State: Decodable {
    var last_seq: UInt64
  }

  struct Delivered: Decodable {
    var consumer_seq, stream_seq: UInt64
  }

  struct Stream: Decodable {
    var subjects: [String]?
    var max_bytes: Int?
    var discard: String?

    /// Whether so many bytes are more than the stream stores even when it has nothing else.
    func neverHasRoom(for bytes: Int) -> Bool {
      discard == "new" && max_bytes.map { $0 > 0 && bytes > $0 } == true
    }

    func stores(_ subject: String) -> Bool {
      (subjects ?? []).contains { (try? SubjectPattern(validating: $0))?.matches(subject) == true }
    }
  }

  var error: Failure?
  /// Whether a consumer is paused by an administrator.
  var paused: Bool?
  /// The numbers of the last message that a consumer has sent, or the place before which it begins.
  var delivered: Delivered?
  /// How many messages it has sent that were not acknowledged.
  var num_ack_pending: Int?
  /// When a stream was created.
  var created: String?
  /// The state of a stream.
  var state: State?
  /// The configuration of a stream.
  var config: Stream?
  /// The stream that has stored a message, and the place of the message.
  var stream: String?
  var seq: UInt64?

  /// Whether a stream reports what it has done with a message.
  var isAcknowledgment: Bool { stream != nil && seq != nil }

  init?(_ json: [UInt8]) {
    guard let response = try? JSONDecoder().decode(Self.self, from: Data(json)) else {
      return nil
    }
    self = response
  }
}

/// The place of a message in a stream, from tokens of the subject for its acknowledgement.
struct StreamPlace: Equatable {
  var consumer: Substring
  var streamSequence: UInt64
  var consumerSequence: UInt64
  /// When the message was stored, in nanoseconds.
  var time: UInt64
  /// Where the message is acknowledged.
  var acknowledgment: String

  /// `$JS.ACK.stream.consumer.delivered.streamSequence.consumerSequence.time.pending`, or with the
  /// server's domain and account before the stream.
  init?(_ reply: String?) {
    guard let reply, reply.hasPrefix("$JS.ACK.") else { return nil }
    let tokens = reply.split(separator: ".", omittingEmptySubsequences: false)
    let first = tokens.count == 9 ? 5 : 7
    guard tokens.count == 9 || tokens.count >= 11,
      UInt64(tokens[first - 1]) != nil, let stream = UInt64(tokens[first]),
      let consumer = UInt64(tokens[first + 1]), let time = UInt64(tokens[first + 2])
    else { return nil }
    self.consumer = tokens[first - 2]
    (streamSequence, consumerSequence) = (stream, consumer)
    (self.time, acknowledgment) = (time, reply)
  }
}
