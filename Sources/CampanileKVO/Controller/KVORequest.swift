internal import Campanile

/// One call to `observe`, whatever its form.
struct KVORequest<Object: AnyObject, Value> {
  let object: Object
  let path: KVOPath
  var read: (Object) -> Value
  private(set) var options: KVOChange<Value>.Options
  /// Whether the value is read on the main actor alone.
  let isOnMain: Bool
  /// Whether any thread may change the object.
  var isForAnyThread = false
  /// Whether the observers of the key path share one evaluation.
  var isShared = true
  let file: StaticString
  let line: UInt

  init(
    _ object: Object, _ path: AnyKeyPath, _ options: KVOChange<Value>.Options, isOnMain: Bool,
    _ file: StaticString, _ line: UInt, _ read: @escaping (Object) -> Value
  ) {
    self.object = object
    self.path = KVOPath(path)
    self.read = read
    self.options = options
    self.isOnMain = isOnMain
    self.file = file
    self.line = line
  }

  init(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options,
    isOnMain: Bool = false, _ file: StaticString, _ line: UInt
  ) {
    self.init(object, keyPath, options, isOnMain: isOnMain, file, line) { $0[keyPath: keyPath] }
  }

  /// A request for what a closure reads; it is known by the key path of the object itself.
  init(
    _ object: Object, of read: @escaping (Object) -> Value, _ options: KVOChange<Value>.Options,
    isOnMain: Bool = false, _ file: StaticString, _ line: UInt
  ) {
    self.init(object, \Object.self, options, isOnMain: isOnMain, file, line, read)
    // Closures cannot be compared.
    isShared = false
  }

  var traits: Evaluation.Traits {
    .init(
      path: path, isOnMain: isOnMain, isForAnyThread: isForAnyThread, isShared: isShared,
      file: file, line: line)
  }

  /// The same for an object that any thread may change.
  var forAnyThread: Self {
    var request = self
    request.isForAnyThread = true
    return request
  }

  /// The same for all observers of a source: one call is asked of each of them.
  var lasting: Self {
    var request = self
    request.options.isOnce = false
    return request
  }

  /// Writes that nothing of what is read can be observed.
  func warnOfNothing() {
    SourceRegistry.warn(
      "\(file):\(line): \(path) of \(type(of: object)) reads no property that can be observed, "
        + "so its observer is never called")
  }
}

extension Optional<any Actor> {
  /// Whether it is the isolation of the main actor.
  var isMain: Bool { self === MainActor.shared }
}
