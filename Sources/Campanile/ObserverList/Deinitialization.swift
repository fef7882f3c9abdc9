#if canImport(ObjectiveC)
  import ObjectiveC
#endif

/// Whether the deinit of `object` has begun.
///
/// Such an object can be used until its deinit has returned, and nothing may keep it for longer.
package func isDeinitializing(_ object: AnyObject) -> Bool {
  #if canImport(ObjectiveC)
    // To form a weak reference to an object below NSObject stops the program there. Its runtime
    // asks this question first, which Swift's own root class answers too.
    typealias Answer = @convention(c) (AnyObject, Selector) -> ObjCBool
    let (question, type) = (sel_registerName("allowsWeakReference"), object_getClass(object))
    if class_respondsToSelector(type, question),
      let method = class_getMethodImplementation(type, question)
    {
      // SAFETY: the method has no parameter and returns a BOOL.
      let answer = unsafe unsafeBitCast(method, to: Answer.self)
      return unsafe !answer(object, question).boolValue
    }
  #endif
  // The runtime forms no weak reference to an object in its deinit.
  weak let reference = object
  return reference == nil
}
